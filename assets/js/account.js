// Passkeys, and secrets that are shown once. Loaded by the pages of signing in and of accounts.
const post = (url, body, type) => fetch(url, {method: 'POST', body, headers: {'X-Fawn': '1', Accept: 'application/json', ...(type && {'Content-Type': type})}});

const can = () => window.PublicKeyCredential?.parseCreationOptionsFromJSON;

// The server says what it wants, the browser asks its owner, and the server judges the answer.
const passkey = async (form) => {
  const why = form.querySelector('[data-failed]');
  why.hidden = true;
  try {
    const begun = await post(form.action + '/options', new URLSearchParams());
    if (!begun.ok) throw new Error((await begun.json()).error);
    const options = await begun.json();
    const create = form.dataset.passkey === 'create';
    const made = create
      ? await navigator.credentials.create({publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options)})
      : await navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options)});
    const query = new URLSearchParams({next: form.dataset.to, name: form.elements.name?.value ?? ''});
    const done = await post(form.action + '?' + query, JSON.stringify(made), 'application/json');
    const said = await done.json();
    if (!done.ok) throw new Error(said.error);
    location.assign(said.next);
    if (location.hash) location.reload();
  } catch (err) {
    if (err.name === 'NotAllowedError' || err.name === 'AbortError') return; // its owner said no
    why.textContent = why.dataset.failed + (err.message && !(err instanceof TypeError) ? ' ' + err.message : '');
    why.hidden = false;
  }
};

if (!window.fawnAccount) { // a dialog may bring this script again
  window.fawnAccount = true;
  document.documentElement.toggleAttribute('data-nokey', !can());
  document.addEventListener('submit', (e) => {
    if (!e.target.matches('[data-passkey]')) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    passkey(e.target);
  }, true);
  document.addEventListener('click', async (e) => {
    const button = e.target.closest('[data-secret]');
    if (!button) return;
    const text = document.getElementById(button.dataset.secret);
    getSelection().selectAllChildren(text);
    try {
      if (navigator.clipboard) await navigator.clipboard.writeText(text.textContent);
      else if (!document.execCommand('copy')) return;
      button.lastChild.textContent = document.getElementById('words').dataset.liveCopied;
    } catch { /* it is selected, so that it can be copied by hand */ }
  });
}
