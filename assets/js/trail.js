// The trail of a helper at work, in the panel: what is new is added to it, and what a reader has
// opened stays open.
const pause = 1500;

export const follow = (root) => {
  const now = root.querySelector('[data-again]');
  if (!now) return;
  setTimeout(async () => {
    if (!now.isConnected) return;
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
    follow(root);
  }, pause);
};
