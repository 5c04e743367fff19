// Copying to the clipboard.
import {say, toast, word} from './dom.js';

const legacyCopy = (text) => {
  const t = document.createElement('textarea');
  t.value = text;
  t.className = 'vh';
  document.body.append(t);
  t.select();
  const ok = document.execCommand('copy');
  t.remove();
  if (!ok) throw new Error('copy');
};

const toClipboard = async (get) => {
  if (!navigator.clipboard) { legacyCopy(await get()); return; }
  if (window.ClipboardItem) {
    // The promise goes in unresolved: some browsers allow writing only in the click itself.
    const blob = Promise.resolve(get()).then((s) => new Blob([s], {type: 'text/plain'}));
    await navigator.clipboard.write([new ClipboardItem({'text/plain': blob})]);
    return;
  }
  await navigator.clipboard.writeText(await get());
};

const source = async (url) => {
  const res = await fetch(url);
  if (!res.ok) throw new Error(res.status);
  return res.text();
};

// What a button copies: the code it stands at, the address it leads to, or what is there.
export const copy = async (el) => {
  const get = {code: () => el.closest('.cb').querySelector('code').textContent, link: () => el.href}[el.dataset.copy] ?? (() => source(el.href));
  try {
    await toClipboard(get);
    say(word('live-copied'));
    const icon = el.querySelector('use');
    const was = icon ? icon.getAttribute('href') : el.textContent;
    const show = (s) => (icon ? icon.setAttribute('href', s) : (el.textContent = s));
    show(icon ? was.replace(/#.*/, '#check') : word('live-copied'));
    setTimeout(show, 1500, was);
  } catch {
    toast(word('live-copyfailed'));
  }
};
