// The lines between the columns: moved by a pointer or by arrow keys in steps that the style
// sheet knows, so that the next page has the same width at once. A double click puts a line
// back where it was at first.
const root = document.documentElement;

export const start = (el, save) => {
  const {grip: name, unit, step} = el.dataset;
  const least = +el.ariaValueMin, most = +el.ariaValueMax;
  const within = (v) => Math.min(most, Math.max(least, v));
  const property = '--' + name;

  const keep = (v) => {
    root.style.removeProperty(property);
    if (v === undefined) delete root.dataset[name + 'w'];
    else root.dataset[name + 'w'] = v;
    el.ariaValueNow = v ?? el.dataset.usual;
    save({[name + 'w']: v ?? ''}).catch(() => {});
  };
  const settle = (v) => keep(within(least + Math.round((v - least) / step) * step));

  // What width the column has when its line is at x.
  const at = (x) => {
    const app = el.closest('.app').getBoundingClientRect();
    return within(unit === '%' ? (app.right - x) * 100 / app.width : x - app.left);
  };

  el.addEventListener('pointerdown', (e) => {
    if (e.button) return;
    e.preventDefault();
    el.setPointerCapture(e.pointerId);
    let v;
    const move = (m) => { v = at(m.clientX); root.style.setProperty(property, v + unit); };
    const end = () => {
      el.removeEventListener('pointermove', move);
      if (v !== undefined) settle(v);
    };
    el.addEventListener('pointermove', move);
    el.addEventListener('lostpointercapture', end, {once: true});
  });
  el.dataset.on = 'yes';
  el.addEventListener('dblclick', () => keep());
  el.addEventListener('keydown', (e) => {
    const wider = name === 'side' ? 'ArrowRight' : 'ArrowLeft', narrower = name === 'side' ? 'ArrowLeft' : 'ArrowRight';
    const v = {[wider]: +el.ariaValueNow + +step, [narrower]: +el.ariaValueNow - step, Home: least, End: most}[e.key];
    if (v === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    settle(v);
  });
};
