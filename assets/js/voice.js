// Dictation and reading aloud: by the server's models where they are configured, else by the browser.

const press = (b, on) => {
  b.ariaPressed = String(on);
  b.classList.toggle('on', on);
  const words = b.querySelector('span');
  b.dataset.start ??= words ? words.textContent : b.ariaLabel;
  const text = on ? b.dataset.stop : b.dataset.start;
  if (words) words.textContent = text;
  else { b.ariaLabel = text; b.title = text; }
};

// What goes on is one thing at a time: whatever was begun before ends, and its late events are not heard.
let now = null;
const begin = (b, stop) => {
  now?.stop();
  const it = {
    over: () => now !== it,
    end: () => { if (now === it) { now = null; press(b, false); } },
    stop: () => { it.end(); stop(); },
  };
  now = it;
  return it;
};

// dictate writes what is said into the message box.
export const dictate = async (b, form, {insert, say, toast}) => {
  if (b.ariaPressed === 'true') { now?.stop(); return; }
  if (!('dictate' in form.dataset)) { listen(b, insert, toast); return; }
  let rec = null;
  const it = begin(b, () => rec?.stop());
  let mic;
  try {
    mic = await navigator.mediaDevices.getUserMedia({audio: true});
  } catch {
    if (!it.over()) { it.end(); toast(b.dataset.denied); }
    return;
  }
  const off = () => { for (const t of mic.getTracks()) t.stop(); };
  if (it.over()) { off(); return; }
  const parts = [];
  rec = new MediaRecorder(mic);
  rec.ondataavailable = (e) => parts.push(e.data);
  rec.onstop = async () => {
    off();
    it.end();
    b.disabled = true;
    const body = new FormData();
    body.append('audio', new Blob(parts, {type: rec.mimeType}), 'dictation.' + (rec.mimeType.includes('mp4') ? 'mp4' : 'webm'));
    body.append('lang', document.documentElement.lang);
    try {
      const res = await fetch(b.dataset.at, {method: 'POST', body, headers: {'X-Fawn': '1', Accept: 'application/json'}});
      const got = await res.json();
      if (!form.isConnected) return; // another chat is open by now
      if (got.text) { insert(got.text); say(got.text); } else toast(got.error || b.dataset.failed);
    } catch { toast(b.dataset.failed); }
    b.disabled = false;
  };
  rec.start();
  press(b, true); // only now is anything recorded
};

const listen = (b, insert, toast) => {
  const r = new (window.SpeechRecognition ?? window.webkitSpeechRecognition)();
  const it = begin(b, () => r.stop());
  r.lang = document.documentElement.lang;
  r.continuous = true;
  r.onresult = (e) => { for (let i = e.resultIndex; i < e.results.length; i++) if (e.results[i].isFinal && b.isConnected) insert(e.results[i][0].transcript.trim()); };
  r.onerror = (e) => { if (!it.over() && e.error !== 'aborted') toast(b.dataset[{'not-allowed': 'denied', network: 'none', 'service-not-allowed': 'none', 'language-not-supported': 'none'}[e.error] ?? 'failed']); };
  r.onend = it.end;
  r.start();
  press(b, true);
};

// list counts the voices of the browser, which some load late.
const list = async () => {
  if (!window.speechSynthesis) return 0;
  if (!speechSynthesis.getVoices().length) await new Promise((done) => { speechSynthesis.addEventListener('voiceschanged', done, {once: true}); setTimeout(done, 1000); });
  return speechSynthesis.getVoices().length;
};

// speak reads an answer aloud.
export const speak = async (b, form, {toast}) => {
  if (b.ariaPressed === 'true') { now?.stop(); return; }
  if (form && 'speech' in form.dataset) {
    const a = new Audio(b.dataset.at);
    const it = begin(b, () => { a.pause(); a.removeAttribute('src'); });
    press(b, true);
    const fail = () => { if (!it.over()) { it.end(); toast(b.dataset.failed); } };
    a.onended = it.end;
    a.onerror = fail;
    a.play().catch(fail);
    return;
  }
  const voices = await list();
  if (!voices) { toast(b.dataset.none); return; }
  const it = begin(b, () => speechSynthesis.cancel());
  press(b, true);
  const res = await fetch(b.dataset.at + '?text=1').catch(() => null);
  if (it.over()) return;
  if (!res?.ok) { it.end(); toast(b.dataset.failed); return; }
  const text = await res.text();
  if (it.over()) return;
  const words = new SpeechSynthesisUtterance(text);
  words.lang = document.documentElement.lang;
  words.onend = it.end;
  words.onerror = (e) => { if (!it.over() && e.error !== 'canceled' && e.error !== 'interrupted') toast(b.dataset.none); it.end(); };
  speechSynthesis.speak(words);
};
