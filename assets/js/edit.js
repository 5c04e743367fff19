// A text file in a form: Ctrl S saves, and what is not saved is not lost by a click. Loaded when
// somebody edits one.
let form, box, was, put, toast, saving, back;

const dirty = () => form?.isConnected && !saving && box.value !== was;
const stays = () => dirty() && !confirm(form.dataset.edit);

const save = async () => {
  if (saving) return;
  if (!put) { saving = true; form.submit(); return; } // a page of its own
  saving = true;
  const mine = form;
  try {
    const res = await fetch(form.action, {method: 'POST', body: new URLSearchParams(new FormData(form)), headers: {'X-Fawn': '1', Accept: 'text/html'}});
    const html = await res.text(), said = form.dataset.saved;
    if (!html.includes('class="bar"')) throw new Error(res.status);
    if (mine.isConnected || !res.ok) await put(html); // else something else was opened meanwhile, and the text is saved
    if (res.ok) toast(said, 'good');
  } catch {
    toast(document.getElementById('words')?.dataset.liveLoaderror ?? '');
  }
  if (mine === form) saving = false;
};

const listen = () => {
  const hold = (e) => { e.preventDefault(); e.stopPropagation(); };
  addEventListener('keydown', (e) => {
    if (!form?.isConnected) return;
    if ((e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === 's') { hold(e); save(); }
    if (e.key === 'Escape' && form.contains(document.activeElement) && stays()) hold(e);
  }, true);
  addEventListener('click', (e) => {
    if (e.target.closest?.('[data-panel], [data-panel-close], a[data-file]') && stays()) hold(e);
  }, true);
  addEventListener('popstate', (e) => {
    if (back) { back = false; e.stopImmediatePropagation(); } else if (stays()) { back = true; e.stopImmediatePropagation(); history.forward(); }
  }, true);
  addEventListener('beforeunload', (e) => { if (dirty()) e.preventDefault(); });
};

export const start = (f, putPanel, say) => {
  if (form === f) return;
  if (!form) listen();
  form = f;
  put = putPanel;
  toast = say;
  saving = false;
  box = form.elements.text;
  was = 'dirty' in form.dataset ? null : box.defaultValue; // somebody may have typed before this script came
  form.addEventListener('submit', (e) => { e.preventDefault(); save(); });
  box.focus({preventScroll: true});
};
