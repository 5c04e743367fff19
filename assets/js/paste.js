// A large paste becomes a file: its chip shows the text, and gives it back to the message box unless that is too much for one.

const make = (name, props, ...inside) => {
  const el = Object.assign(document.createElement(name), props);
  el.append(...inside);
  return el;
};

const find = (list, name) => [...list.children].find((li) => li.dataset.name === name);

// take makes a file of a large text, under a name of its own. fits tells whether the text can go back to the message box.
let pastes = 0;
export const take = (list, text, add, fits) => {
  let name;
  do name = document.getElementById('words').dataset.livePaste + (pastes++ ? `-${pastes}` : '') + '.txt'; while (find(list, name));
  add([new File([text], name, {type: 'text/plain'})]);
  show(list, name, text, fits);
};

// show waits for the chip of the stored file and adds its preview.
const show = (list, name, text, fits) => {
  const words = document.getElementById('words').dataset, box = document.getElementById('q');
  const look = () => {
    const li = find(list, name);
    if (!li) return true; // taken back
    if (li.querySelector('progress')) return false;
    if (li.querySelector('[popovertarget]')) return true;
    const id = 'paste-' + name.replace(/\W/g, '-');
    const back = make('button', {type: 'button', className: 'btn line', textContent: words.livePasteback});
    const pop = make('div', {id, className: 'menu paste', popover: 'auto'},
      make('pre', {className: 'out', tabIndex: 0, dir: 'auto', role: 'group', ariaLabel: name, textContent: text.slice(0, 20000) + (text.length > 20000 ? '\n…' : '')}), ...(fits ? [back] : []));
    const button = make('button', {type: 'button', className: 'btn', textContent: words.livePasteshow});
    button.setAttribute('popovertarget', id);
    back.addEventListener('click', () => {
      pop.hidePopover();
      find(list, name)?.querySelector('[data-remove]').click();
      box.setRangeText(text, box.selectionStart, box.selectionEnd, 'end');
      box.dispatchEvent(new Event('input'));
      box.focus();
    });
    li.querySelector('[data-remove]')?.before(button);
    li.append(pop);
    return true;
  };
  if (look()) return;
  const seen = new MutationObserver(() => { if (look()) seen.disconnect(); });
  seen.observe(list, {childList: true, subtree: true});
};
