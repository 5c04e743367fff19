// Which test file runs where. gate is for each change (gate.mjs); the parts of nightly run all the rest and the
// gate's files again, whole and each with its own server (nightly.mjs). harness.test.mjs fails for a file in no part.

// gate has the files that every change has to pass.
export const gate = ['account', 'hosts', 'compose', 'files', 'stop', 'thread', 'enter', 'settings', 'tasks', 'question', 'mcpask', 'job',
  'share', 'actions', 'python', 'sdk', 'tls'];

// sdks are the tests of clients, which nightly runs against one server and against three.
const sdks = ['acp', 'agui', 'docs', 'generated', 'methods', 'openai', 'protocol', 'python', 'react', 'runs', 'sdk'];

export const nightly = {
  // The pages of a chat.
  chat: ['actions', 'browsing', 'changes', 'citations', 'code', 'columns', 'compare', 'compose', 'documents', 'earlier', 'enter', 'files', 'followups', 'gauge', 'helpers',
    'hosts', 'jump', 'list', 'long', 'order', 'pick', 'pictures', 'plan', 'preview', 'progress', 'question', 'reading', 'render', 'share', 'slash', 'temporary', 'thread', 'trail'],
  // The other pages, and what holds for all of them.
  pages: ['account', 'agents', 'browsingtasks', 'budget', 'channels', 'chats', 'deliver', 'first', 'harness', 'hostile', 'imports', 'insight', 'job', 'keys', 'knowledge', 'look', 'mcp', 'mcpapps', 'mcpask',
    'mcpextras', 'mcplogin', 'mcppublished', 'mcpserver', 'mcptools', 'media', 'memory', 'network', 'notify', 'projects', 'prompts', 'readme', 'settings', 'skills', 'stop', 'tasks', 'tls',
    'undelivered', 'visit'],
  sdk: sdks,
  servers: ['cluster', ...sdks.filter((f) => f !== 'docs' && f !== 'generated').map((f) => f + '@3')],
  // What is handed out and what stands around it.
  release: ['corpus', 'image', 'proxy', 'release'],
};
