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

let stop; // ends what goes on

// dictate writes what is said into the message box.
export const dictate = async (b, form, {insert, say, toast}) => {
  if (stop) { stop(); return; }
  if (!('dictate' in form.dataset)) { listen(b, insert, toast); return; }
  let mic;
  try {
    mic = await navigator.mediaDevices.getUserMedia({audio: true});
  } catch {
    toast(b.dataset.denied);
    return;
  }
  const parts = [];
  const rec = new MediaRecorder(mic);
  rec.ondataavailable = (e) => parts.push(e.data);
  rec.onstop = async () => {
    stop = null;
    for (const t of mic.getTracks()) t.stop();
    press(b, false);
    b.disabled = true;
    const body = new FormData();
    body.append('audio', new Blob(parts, {type: rec.mimeType}), 'dictation.' + (rec.mimeType.includes('mp4') ? 'mp4' : 'webm'));
    body.append('lang', document.documentElement.lang);
    try {
      const res = await fetch(b.dataset.at, {method: 'POST', body, headers: {'X-Fawn': '1', Accept: 'application/json'}});
      const got = await res.json();
      if (got.text) { insert(got.text); say(got.text); } else toast(got.error || b.dataset.failed);
    } catch { toast(b.dataset.failed); }
    b.disabled = false;
  };
  stop = () => rec.stop();
  rec.start();
  press(b, true);
};

const listen = (b, insert, toast) => {
  const r = new (window.SpeechRecognition ?? window.webkitSpeechRecognition)();
  r.lang = document.documentElement.lang;
  r.continuous = true;
  r.onresult = (e) => { for (let i = e.resultIndex; i < e.results.length; i++) if (e.results[i].isFinal) insert(e.results[i][0].transcript.trim()); };
  r.onerror = (e) => { if (e.error !== 'aborted') toast(e.error === 'not-allowed' ? b.dataset.denied : b.dataset.failed); };
  r.onend = () => { stop = null; press(b, false); };
  stop = () => r.stop();
  r.start();
  press(b, true);
};

// speak reads an answer aloud.
export const speak = async (b, form, {toast}) => {
  const own = b.ariaPressed === 'true';
  if (stop) stop();
  if (own) return;
  press(b, true);
  const end = () => { stop = null; press(b, false); };
  if (form && 'speech' in form.dataset) {
    const a = new Audio(b.dataset.at);
    a.onended = end;
    a.onerror = () => { if (stop) { end(); toast(b.dataset.failed); } };
    stop = () => { end(); a.pause(); a.removeAttribute('src'); };
    a.play().catch(a.onerror);
    return;
  }
  stop = () => { end(); speechSynthesis.cancel(); };
  const res = await fetch(b.dataset.at + '?text=1').catch(() => null);
  if (!res?.ok) { stop(); toast(b.dataset.failed); return; }
  const words = new SpeechSynthesisUtterance(await res.text());
  words.lang = document.documentElement.lang;
  words.onend = words.onerror = end;
  speechSynthesis.speak(words);
};
