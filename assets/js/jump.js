// Leads to the first message of a chat and between the reader's own ones. Turns that the page leaves out are fetched as far
// as they are needed. Loaded with the first jump.
const $ = (id) => document.getElementById(id);
const mine = () => [...document.querySelectorAll('#turns .mine')];
const patience = 5000;

const show = (el) => {
  const sc = $('scroll');
  sc.dispatchEvent(new KeyboardEvent('keydown', {key: 'PageUp'})); // follow no longer
  el.scrollIntoView();
  if (document.activeElement === $('q')) return; // who writes goes on writing
  el.tabIndex = -1;
  el.focus({preventScroll: true});
};

// more fetches turns of a gap and tells whether any came.
const more = (gap, up) => new Promise((done) => {
  const links = gap.querySelectorAll('[data-turns]'), link = links[up ? links.length - 1 : 0];
  const seen = new MutationObserver(() => { if (!gap.isConnected) end(true); });
  const timer = setTimeout(() => end(false), patience);
  const end = (came) => { seen.disconnect(); clearTimeout(timer); done(came); };
  seen.observe($('turns'), {childList: true});
  if (!gap.ariaBusy) link.click();
});

// beyond is what stands before or behind the top of the screen: a message or a gap.
const beyond = (up) => {
  const top = $('scroll').getBoundingClientRect().top, all = [...document.querySelectorAll('#turns .mine, #turns > .gap')];
  const at = (el) => el.getBoundingClientRect().top - top;
  return up ? all.findLast((el) => at(el) < -8) : all.find((el) => at(el) > 40);
};

const step = async (up) => {
  if (!$('turns')) return;
  for (let to; (to = beyond(up)); ) {
    if (to.matches('.mine')) { show(to); return; }
    if (!(await more(to, up))) return;
  }
  if (!up) $('scroll').dispatchEvent(new KeyboardEvent('keydown', {key: 'End'}));
};

export const before = () => step(true);
export const after = () => step(false);

// first stays on the page when it has the first message; else the server opens the chat there.
export const first = () => {
  const turns = $('turns'), [begin] = mine();
  if (!begin) return;
  if (turns.firstElementChild.matches('.gap')) location.href = $('panel').dataset.closed + '?at=first';
  else show(begin);
};

// The turn before or after the one at the top of what is visible.
const turn = (by) => {
  const sc = $('scroll');
  if (!sc) return;
  const top = sc.getBoundingClientRect().top + 8;
  const all = [...document.querySelectorAll('article.turn')];
  const at = all.findLastIndex((t) => t.getBoundingClientRect().top <= top);
  const to = all[Math.max(0, Math.min(all.length - 1, at + by))];
  if (to) show(to);
};
export const next = () => turn(1);
export const prev = () => turn(-1);

// ask is about what is selected in an answer.
export {quote as ask} from './ask.js';
