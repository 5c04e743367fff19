// A long conversation comes piece by piece: gaps in it fill when the reader comes near.
// For browsers the page has done with, each gap has links as well.

// start watches the gaps in sc. hold(el, change) changes the page while el stays where it
// is on the screen; said tells screen readers.
export const start = (sc, hold, said) => {
  const near = new IntersectionObserver((list) => {
    for (const e of list) if (e.isIntersecting) fill(e.target);
  }, {root: sc, rootMargin: '3000px 0px'});
  const watch = (root) => { for (const g of root.querySelectorAll('.gap')) near.observe(g); };

  // A gap with two ends fills from the one the reader is at: what is in the middle of the screen is before it or behind it.
  const below = (gap) => {
    const {top, height} = sc.getBoundingClientRect();
    return gap.previousElementSibling?.getBoundingClientRect().bottom > top + height / 2;
  };
  const endOf = (gap) => {
    const links = gap.querySelectorAll('[data-turns]');
    return links[below(gap) ? 0 : links.length - 1];
  };

  const fill = async (gap, link = endOf(gap)) => {
    if (gap.ariaBusy) return;
    gap.ariaBusy = 'true';
    try {
      const res = await fetch(link.dataset.turns, {headers: {'X-Fawn': '1'}});
      if (!res.ok) throw new Error(res.status);
      const t = document.createElement('template');
      t.innerHTML = await res.text();
      if (!gap.isConnected) return; // the turns were told anew meanwhile, with a gap of their own
      const down = link.nextElementSibling, stays = down ? gap.previousElementSibling : gap.nextElementSibling;
      const now = [...t.content.children], focused = gap.contains(document.activeElement);
      const read = below(gap) ? gap.previousElementSibling : gap.nextElementSibling; // the reader may have gone past it
      hold(!read || now.some((el) => el.id === read.id) ? stays : read, () => {
        for (const el of now) document.getElementById(el.id)?.remove(); // came in the meantime, or the gap itself
        (down ? stays.after(...now) : stays.before(...now));
        gap.remove();
      });
      for (const el of now) window.htmx?.process(el);
      if (focused) {
        const to = now.find((el) => el.matches('.gap'))?.querySelector('a:last-child') ?? stays;
        if (to === stays) to.tabIndex = -1;
        to.focus({preventScroll: true});
        said();
      }
      watch(sc);
    } catch {
      gap.ariaBusy = null; // the links still work
    }
  };

  sc.addEventListener('click', (e) => {
    const link = e.target.closest('[data-turns]');
    if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
    e.preventDefault();
    fill(link.closest('.gap'), link);
  });
  new MutationObserver(() => watch(sc)).observe(sc.querySelector('#turns'), {childList: true});
  watch(sc);
};
