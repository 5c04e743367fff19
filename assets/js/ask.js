// Offers to ask about what is selected in an answer: a button at the selection puts it into the message box as a quote.
// Loaded with the first selection.
const longest = 4000, pause = 150;
let button, timer, kept = '';

const answer = (node) => (node.closest ? node : node.parentElement)?.closest('.ans');
const bare = (s) => s.toString().replace(/\s+/g, '');

const range = () => {
  const s = getSelection();
  if (!s?.rangeCount || s.isCollapsed || !s.toString().trim()) return;
  const r = s.getRangeAt(0), at = answer(r.startContainer);
  if (!at || answer(r.commonAncestorContainer)) return at && r;
  const own = r.cloneRange(); // three clicks select up to the beginning of what follows a paragraph
  own.setEnd(at, at.childNodes.length);
  return bare(own) === bare(s) ? own : undefined;
};

const place = () => {
  const r = range();
  if (!r) { if (button.matches(':popover-open')) button.hidePopover(); return; }
  const box = r.getBoundingClientRect(), edge = 8, below = matchMedia('(pointer: coarse)').matches; // phones have a menu of their own above
  kept = getSelection().toString();
  if (!button.matches(':popover-open')) button.showPopover();
  const {offsetWidth: w, offsetHeight: h} = button;
  const y = below || box.top - h - edge < edge ? box.bottom + edge : box.top - h - edge;
  Object.assign(button.style, {
    left: Math.max(edge, Math.min(box.left + box.width / 2 - w / 2, innerWidth - w - edge)) + 'px',
    top: Math.max(edge, Math.min(y, innerHeight - h - edge)) + 'px',
  });
};

// quote puts what is selected, or was last, in front of what stands in the message box.
export const quote = () => {
  const q = document.getElementById('q'), text = (range() ? getSelection().toString() : kept).trim().slice(0, longest);
  if (!q || !text) return;
  const lines = text.split(/\n+/).map((l) => '> ' + l).join('\n');
  q.value = lines + '\n\n' + q.value.trimStart();
  kept = '';
  getSelection().removeAllRanges();
  q.dispatchEvent(new Event('input'));
  q.focus();
  q.setSelectionRange(q.value.length, q.value.length);
};

// It stands in front of the message box, so that Tab leads to it from the conversation.
const make = () => {
  button = document.createElement('button');
  Object.assign(button, {type: 'button', className: 'btn line askabout', popover: 'manual', textContent: document.getElementById('words').dataset.askAbout});
  Object.assign(button.style, {position: 'fixed', inset: 'auto', margin: 0, background: 'var(--surface)', boxShadow: 'var(--shadow-2)', display: 'none'});
  button.addEventListener('beforetoggle', (e) => { button.style.display = e.newState === 'open' ? '' : 'none'; });
  button.addEventListener('pointerdown', (e) => e.preventDefault()); // the selection stays
  button.addEventListener('click', quote);
  document.getElementById('compose').before(button);
};

// look shows the button while something in an answer is selected.
const look = () => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (!document.getElementById('compose')) return;
    if (!button?.isConnected) {
      make();
      document.getElementById('scroll').addEventListener('scroll', place, {passive: true});
    }
    place();
  }, pause);
};

export const start = () => {
  if (!timer) document.addEventListener('selectionchange', look);
  look();
};
