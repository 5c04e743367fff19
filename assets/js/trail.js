// The trail of a helper at work, in the panel: what is new is added to it, and what a reader has
// opened stays open. It is read again when the helper's card changes in the stream of the chat, and
// now and then, for words that are still being said.
const pause = 1500;

const cardOf = (now) => document.getElementById('sh-' + decodeURIComponent(now.dataset.again.split('/').at(-2)));

// change waits until the card is not what was seen, or for the pause.
const change = (now, seen) => new Promise((done) => {
  const end = () => { clearTimeout(timer); document.removeEventListener('fawn:frame', look); done(); };
  const look = () => { if (!now.isConnected || cardOf(now) !== seen) end(); };
  const timer = setTimeout(end, pause);
  document.addEventListener('fawn:frame', look);
  look();
});

export const follow = (root, seen) => {
  const now = root.querySelector('[data-again]');
  if (!now) return;
  change(now, seen ?? cardOf(now)).then(async () => {
    if (!now.isConnected) return;
    const card = cardOf(now);
    const t = document.createElement('template');
    try {
      t.innerHTML = await (await fetch(now.dataset.again, {headers: {'X-Fawn': '1'}})).text();
    } catch { /* the next time */ }
    const next = t.content.querySelector('.pad');
    if (!now.isConnected) return;
    if (next) {
      for (const li of next.querySelectorAll('.steps > li')) {
        const had = document.getElementById(li.id);
        if (!had) now.querySelector('.steps').append(li);
        else if (had.className !== li.className && !had.querySelector('[open]')) had.replaceWith(li);
        window.htmx?.process(document.getElementById(li.id));
      }
      now.querySelector('.empty')?.remove();
      now.querySelector(':scope > .md')?.remove();
      const md = next.querySelector(':scope > .md');
      if (md) now.append(md);
      if (!next.dataset.again) { delete now.dataset.again; return; }
    }
    follow(root, card);
  });
};
