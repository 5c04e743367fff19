// Tasks in the agent's browser, through the chat with the scripted model, on a site of our own: forms, pages of lists,
// a login, downloads, dialogs, frames, lists that grow, uploads, tabs, pages of scripts. It prints how many succeed, and what a
// step gives the model to read.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { chromium, lacks, scripted, start } from './harness.mjs';

const skip = lacks('Chromium', existsSync(chromium));
let fawn, site, at;

const html = (body, title = 'Site') => `<!doctype html><title>${title}</title>${body}`;
const items = (n) => Array.from({ length: 10 }, (_, i) => `<li>Item ${n * 10 + i} <a href="/item?n=${n * 10 + i}">Details of ${n * 10 + i}</a></li>`).join('');
const pages = {
  '/': () => html('<h1>Home</h1><nav><a href=/list>List</a> <a href=/form>Form</a></nav>', 'Home'),
  '/list': (q) => html(`<ul>${items(+q.get('p') || 0)}</ul><a href="/list?p=${(+q.get('p') || 0) + 1}">Next page</a>`),
  '/item': (q) => html(`<h1>Item ${q.get('n')}</h1><p>Price ${q.get('n') * 3} €</p>`),
  '/form': () => html(`<form action=/sent><label>Name <input name=name></label><label>Mail <input type=email name=mail required></label>
    <label>Size <select name=size><option value=s>Small<option value=l>Large</select></label><label><input type=radio name=pay value=card> Card</label>
    <label><input type=radio name=pay value=cash> Cash</label><label><input type=checkbox name=news> News</label><label>Day <input type=date name=day></label>
    <label>Amount <input type=number name=n></label><label>Text <textarea name=text></textarea></label><button>Send</button></form>`),
  '/sent': (q) => html(`<h1>Thank you</h1><p>Got ${[...q].map(([k, v]) => k + '=' + v).join('; ')}</p>`),
  '/dialogs': () => html(`<button onclick="out.textContent=confirm('Sure?')?'Deleted':'Kept'">Delete</button><button onclick="out.textContent='Hi '+prompt('Name?')">Greet</button>
    <button onclick="alert('Careful');out.textContent='Warned'">Warn</button><p id=out></p>`),
  '/frames': () => html('<iframe src="/inner" title=Inner></iframe>'),
  '/inner': () => html(`<button onclick="this.textContent='Pressed inside'">Press</button><iframe src="/deep" title=Deep></iframe>`),
  '/deep': () => html('<input aria-label=Deep oninput="o.textContent=\'Deep \'+this.value"><p id=o></p>'),
  '/lazy': () => html(`<ul id=l><li>Row 1</li></ul><button onclick="fetch('/rows').then(r=>r.text()).then(t=>l.insertAdjacentHTML('beforeend',t))">Load more</button>`),
  '/rows': () => '<li>Row 2</li><li>Row 3</li>',
  '/late': () => html(`<p id=p>Wait</p><script>setTimeout(()=>fetch('/rows').then(()=>{p.textContent='Ready at last'}),250)</script>`),
  '/spa': () => html(`<a href="#" onclick="history.pushState(0,'','/spa/about');v.textContent='About us';return false">About</a><a href="#" onclick="history.pushState(0,'','/spa/jobs');v.textContent='Two jobs';return false">Jobs</a><main id=v>Start</main>`),
  '/tabs': () => html('<a href=/item?n=7 target=_blank>In a tab</a><button onclick="window.open(\'/item?n=8\')">By script</button>'),
  '/hop': () => ['/hop2'], '/hop2': () => ['/item?n=9'],
  '/menu': () => html(`<button aria-expanded=false onclick="this.ariaExpanded='true';m.hidden=false">Menu</button><div id=m hidden><button onclick="o.textContent='Chosen'">Choose me</button></div><p id=o></p>`),
  '/cover': () => html(`<button onclick="this.textContent='Ordered'">Order</button><div id=c style="position:fixed;inset:0;background:#fff"><button onclick="c.remove()">Accept</button></div>`),
  '/edit': () => html(`<div contenteditable role=textbox aria-label=Note>old</div>`),
  '/search': (q) => html(`<form><input type=search name=q aria-label=Search></form><p>${q.get('q') ? 'Found ' + q.get('q') : 'Nothing yet'}</p>`),
  '/table': () => html('<table><tr><th>City<th>People<tr><td>Oslo<td>700000<tr><td>Bergen<td>290000</table>'),
  '/long': () => html(Array.from({ length: 900 }, (_, i) => `<p>Paragraph ${i} of a long text</p>`).join('')),
  '/gone': () => html('<h1>Not here</h1>'),
  '/shadow': () => html(`<x-b></x-b><script>customElements.define('x-b',class extends HTMLElement{constructor(){super();this.attachShadow({mode:'open'}).innerHTML='<button>Shadow</button>';this.shadowRoot.firstChild.onclick=e=>{e.target.textContent='From the shadow'}}})</script>`),
  '/slider': () => html(`<label>Volume <input type=range min=0 max=10 value=3 oninput="o.textContent='Volume '+this.value"></label><p id=o></p>`),
  '/off': () => html('<button disabled>Buy</button>'),
  '/enter': () => html(`<input aria-label=Chat onkeydown="if(event.key==='Enter')o.textContent='Said '+this.value"><p id=o></p>`),
  '/twins': () => html(`<button>Add</button><button onclick="o.textContent='Second one'">Add</button><p id=o></p>`),
  '/upload': () => html('<form method=post action=/up enctype=multipart/form-data><label>File <input type=file name=f></label><button>Upload</button></form>'),
  '/files': () => html('<a href=/a.csv>Table</a> <a href=/b.txt>Plain text</a>'),
};

before(async () => {
  if (skip) return;
  site = createServer((req, res) => {
    const url = new URL(req.url, 'http://x');
    res.setHeader('Content-Type', 'text/html; charset=utf-8');
    const user = /who=(\w+)/.exec(req.headers.cookie ?? '')?.[1];
    if (url.pathname === '/login' && url.searchParams.get('user')) { res.writeHead(302, { 'Set-Cookie': `who=${url.searchParams.get('user')}; Max-Age=3600`, Location: '/account' }).end(); return; }
    if (url.pathname === '/login') { res.end(html('<form><label>User <input name=user></label><label>Password <input type=password name=pw></label><button>Sign in</button></form>')); return; }
    if (url.pathname === '/account') { res.end(html(user ? `<h1>Account of ${user}</h1><a href=/out>Sign out</a>` : '<a href=/login>Please sign in</a>')); return; }
    if (url.pathname === '/out') { res.writeHead(302, { 'Set-Cookie': 'who=; Max-Age=0', Location: '/account' }).end(); return; }
    if (url.pathname === '/a.csv') { res.setHeader('Content-Disposition', 'attachment; filename=a.csv'); res.end('x,y\n4,2\n'); return; }
    if (url.pathname === '/b.txt') { res.setHeader('Content-Type', 'text/plain'); res.end('plain words'); return; }
    if (url.pathname === '/up') { const parts = []; req.on('data', (d) => parts.push(d)); req.on('end', () => res.end(html('<p>Uploaded ' + (/filename="([^"]+)"/.exec(Buffer.concat(parts))?.[1]) + '</p>'))); return; }
    const page = pages[url.pathname];
    if (!page || url.pathname === '/gone') res.statusCode = 404;
    const out = page?.(url.searchParams) ?? html('<h1>Not found</h1>');
    if (Array.isArray(out)) res.writeHead(302, { Location: out[0] }).end();
    else res.end(out);
  });
  await new Promise((done) => site.listen(0, '127.0.0.1', done));
  const { port } = site.address();
  at = `http://127.0.0.1:${port}`;
  fawn = await start({ config: `web: {allow_private: [127.0.0.1], ports: [${port}], browser: "${chromium}"}\n` });
});
after(async () => {
  await fawn?.stop();
  await new Promise((done) => (site ? site.close(done) : done()));
});

const go = (path) => ['browser_navigate', { url: at + path }];
const click = (element, more = {}) => ['browser_click', { element, ...more }];
const type = (element, text, submit = false) => ['browser_type', { element, text, submit }];
const read = (args = {}) => ['browser_read', args];
const form = () => [go('/form'), type('Name', 'Bo'), type('Mail', 'bo@example.org')];

const tasks = () => [
  ['open a page', [go('/')], /# Home/],
  ['follow a link', [go('/'), click('List')], /Item 9/],
  ['follow a link by number', [go('/'), click(2)], /textbox "Name"/],
  ['third page of a list', [go('/list'), click('Next page'), click('Next page')], /Item 29/],
  ['an item of the second page', [go('/list'), click('Next page'), click('Details of 14')], /Price 42/],
  ['back to the list', [go('/list'), click('Details of 3'), ['browser_back', {}]], /Item 9/],
  ['fill in and send', [...form(), click('Send')], /Got name=Bo; mail=bo@example\.org; size=s/],
  ['choose from a list', [...form(), type('Size', 'Large'), click('Send')], /size=l/],
  ['a radio button', [...form(), click('Cash'), click('Send')], /pay=cash/],
  ['a box', [...form(), click('News'), click('Send')], /news=on/],
  ['a date', [...form(), type('Day', '2026-05-04'), click('Send')], /day=2026-05-04/],
  ['a number', [...form(), type('Amount', '12'), click('Send')], /n=12/],
  ['more lines', [...form(), type('Text', 'one two'), click('Send')], /text=one two/],
  ['a field that is required', [go('/form'), click('Send')], /textbox "Mail".*(required|invalid)/],
  ['correct a field', [...form(), type('Name', 'Ada'), click('Send')], /name=Ada/],
  ['send by Enter', [go('/search'), type('Search', 'tea', true)], /Found tea/],
  ['a key that a script waits for', [go('/enter'), type('Chat', 'hello', true)], /Said hello/],
  ['decline a question', [go('/dialogs'), click('Delete')], /Kept/],
  ['accept a question', [go('/dialogs'), click('Delete', { dialog: 'accept' })], /Deleted/],
  ['answer a question', [go('/dialogs'), click('Greet', { dialog: 'accept', dialog_text: 'Ada' })], /Hi Ada/],
  ['a warning', [go('/dialogs'), click('Warn')], /Careful.*[\s\S]*Warned/],
  ['a button in a frame', [go('/frames'), click('Press')], /Pressed inside/],
  ['a field in a frame in a frame', [go('/frames'), type('Deep', 'x1')], /Deep x1/],
  ['a list that grows', [go('/lazy'), click('Load more')], /Row 3/],
  ['what comes late', [go('/late')], /Ready at last/],
  ['a page of scripts', [go('/spa'), click('Jobs')], /Two jobs/],
  ['its address', [go('/spa'), click('About')], /\/spa\/about/],
  ['a new tab', [go('/tabs'), click('In a tab')], /Price 21/],
  ['a tab by a script', [go('/tabs'), click('By script')], /Price 24/],
  ['redirects', [go('/hop')], /Price 27/],
  ['a menu', [go('/menu'), click('Menu'), click('Choose me')], /Chosen/],
  ['a notice over the page', [go('/cover'), click('Accept'), click('Order')], /Ordered/],
  ['text that can be edited', [go('/edit'), type('Note', 'new words')], /"Note" = "new words"/],
  ['a table', [go('/table')], /Bergen \| 290000/],
  ['the end of a long page', [go('/long'), read({ from: 880 })], /Paragraph 899/],
  ['a page that is missing', [go('/gone')], /HTTP status: 404/],
  ['a shadow tree', [go('/shadow'), click('Shadow')], /From the shadow/],
  ['a slider', [go('/slider'), type('Volume', '8')], /Volume 8/],
  ['a button that is off', [go('/off'), click('Buy')], /disabled/],
  ['one of two of a name', [go('/twins'), click(2)], /Second one/],
  ['sign in', [go('/account'), click('Please sign in'), type('User', 'ada'), type('Password', 'pw'), click('Sign in')], /Account of ada/],
  ['still signed in after a restart', [['browser_close', {}], go('/account')], /Account of ada/],
  ['sign out', [go('/account'), click('Sign out')], /Please sign in/],
  ['download', [go('/files'), ['browser_download', { element: 'Table' }], ['read_file', { path: '/mnt/user-data/outputs/a.csv' }]], /4,2/],
  ['save what is shown', [go('/files'), ['browser_download', { element: 'Plain text' }], ['read_file', { path: '/mnt/user-data/outputs/b.txt' }]], /plain words/],
  ['upload', [go('/upload'), type('File', '/mnt/user-data/outputs/a.csv'), click('Upload')], /Uploaded a\.csv/],
  ['the words alone', [go('/list'), read({ mode: 'text' })], /Item 4 Details of 4/],
  ['a screenshot', [go('/'), ['browser_screenshot', { name: 'home' }]], /Saved \/mnt\/user-data\/outputs\/home\.png/],
];

test('tasks in the browser', { skip, timeout: 900_000 }, async () => {
  const all = tasks(), failed = [];
  let steps = 0, bytes = 0, most = 0;
  const thread = 'tasks';
  for (const [name, calls, want] of all) {
    const content = scripted(...calls.map(([tool, args]) => ({ tool_calls: [{ name: tool, args }] })), { text: 'Done.' });
    const res = await fetch(`${fawn.base}/threads/${thread}/runs/wait`, { method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ assistant_id: 'lead_agent', if_not_exists: 'create', input: { messages: [{ type: 'human', content }] } }) });
    const body = await res.text();
    assert.equal(res.status, 200, body);
    const { messages = [] } = JSON.parse(body);
    const results = messages.filter((m) => m.type === 'tool').slice(-calls.length);
    for (const r of results) {
      steps++;
      bytes += Buffer.byteLength(r.content);
      most = Math.max(most, Buffer.byteLength(r.content));
    }
    const last = results.at(-1)?.content ?? '';
    if (!want.test(last)) failed.push(`${name}: ${last.slice(0, 600)}`);
  }
  console.log(`${all.length - failed.length} of ${all.length} tasks, ${steps} steps, ${Math.round(bytes / steps)} bytes a step ` +
    `(about ${Math.round(bytes / steps / 4)} tokens), ${most} at most`);
  assert.deepEqual(failed, []);
});
