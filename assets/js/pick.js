// The pickers of mode and model in the message box. They are popovers with radio
// buttons; here they filter, tell what a model can do, and are kept at once.
import {$, on, toast, word} from './dom.js';
import {post} from './compose.js';

let form, wanted, mouse = false, saving = Promise.resolve();

const all = (name) => [...form.querySelectorAll(`[name=${name}]`)];
const one = (name) => form.querySelector(`[name=${name}]:checked`);

// What the chosen model cannot do is not offered.
const show = () => {
  const model = one('model');
  if (model) {
    $('model-name').textContent = model.closest('label').querySelector('b').textContent;
    const thinks = 'thinks' in model.dataset;
    wanted ||= $('modes').dataset.wanted || 'flash';
    for (const m of all('mode')) {
      m.disabled = !thinks && m.value !== 'flash';
      m.checked = m.value === (thinks ? wanted : 'flash');
    }
    $('cannot-think').hidden = thinks;
    $('effort-field').hidden = !('effort' in model.dataset);
  }
  const mode = one('mode').value;
  for (const s of form.querySelectorAll('[data-mode]')) s.hidden = s.dataset.mode !== mode;
};

const keep = (choice) => {
  saving = saving.then(() => post(form.dataset.choice, new URLSearchParams(choice))).catch(() => toast(word('live-senderror')));
};
const save = () => keep({...(one('model') && {model: one('model').value}), mode: wanted || one('mode').value, effort: all('effort')[0].value});

// A chip stands for each chosen collection of documents.
const chips = () => {
  for (const box of all('knowledge')) $('known').querySelector(`[data-knowledge="${CSS.escape(box.value)}"]`).hidden = !box.checked;
  $('known').hidden = !one('knowledge');
};

const unpick = (e) => {
  const chip = e.target.closest('[data-unpick]')?.closest('li');
  if (!chip) return;
  all('knowledge').find((box) => box.value === chip.dataset.knowledge).click();
  ($('known').querySelector('li:not([hidden]) [data-unpick]') ?? $('q')).focus({preventScroll: true});
};

const leave = (menu) => { menu.hidePopover(); $('q').focus({preventScroll: true}); };
const shown = () => all('model').filter((r) => !r.closest('label').hidden);

const filter = () => {
  const text = $('model-filter').value.trim().toLowerCase();
  for (const r of all('model')) r.closest('label').hidden = !(r.value + ' ' + r.closest('label').textContent).toLowerCase().includes(text);
  $('no-model').hidden = shown().length > 0;
};

const keydown = (e) => {
  mouse = false;
  if (e.target.closest('.cmpmodels')) return;
  const menu = e.currentTarget, find = e.target.id === 'model-filter';
  if (e.key === 'Enter') {
    e.preventDefault(); // it would send the message
    if (find && shown().length && $('model-filter').value) shown()[0].click();
    leave(menu);
  }
  if (find && e.key === 'ArrowDown') {
    e.preventDefault();
    (shown().find((r) => r.checked) ?? shown()[0])?.focus();
  }
};

export const start = () => {
  form = $('compose');
  if (!form) return;
  for (const menu of form.querySelectorAll('.picks')) {
    on(menu, 'keydown', keydown);
    on(menu, 'pointerdown', () => { mouse = true; });
    on(menu, 'change', (e) => {
      if (e.target.name === 'memory') keep({memory: e.target.checked ? 'on' : 'off'});
      if (e.target.name === 'knowledge') {
        chips();
        keep([['knowledge-shown', '1'], ...all('knowledge').filter((box) => box.checked).map((box) => ['knowledge', box.value])]);
      }
      if (!/^(mode|model|effort)$/.test(e.target.name) || !$('modes')) return;
      if (e.target.name === 'mode') wanted = e.target.value;
      show();
      save();
      if (mouse && e.target.type === 'radio') leave(menu);
    });
    // Not at toggle, which may come when somebody types already.
    on(menu, 'beforetoggle', () => { if ($('model-filter')) { $('model-filter').value = ''; filter(); } });
  }
  on($('model-filter'), 'input', filter);
  if (!$('known')) return;
  chips(); // browsers restore ticks at a reload
  on($('known'), 'click', unpick);
};
