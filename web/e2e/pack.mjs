// Small files of kinds that are made of other files.
import { crc32 } from 'node:zlib';

// zip packs files, by their names, without making them smaller.
export const zip = (files) => {
  const parts = [], heads = [];
  let at = 0;
  for (const [name, content] of Object.entries(files)) {
    const n = Buffer.from(name), body = Buffer.from(content), sum = crc32(body);
    const local = Buffer.alloc(30), head = Buffer.alloc(46);
    local.writeUInt32LE(0x04034b50, 0);
    local.writeUInt16LE(20, 4);
    local.writeUInt16LE(0x0800, 6);
    local.writeUInt32LE(0x5a21 << 16, 10); // 1 January 2025
    local.writeUInt32LE(sum, 14);
    local.writeUInt32LE(body.length, 18);
    local.writeUInt32LE(body.length, 22);
    local.writeUInt16LE(n.length, 26);
    head.writeUInt32LE(0x02014b50, 0);
    head.writeUInt16LE(20, 4);
    local.copy(head, 6, 4, 28);
    head.writeUInt32LE(at, 42);
    parts.push(local, n, body);
    heads.push(head, n);
    at += 30 + n.length + body.length;
  }
  const directory = Buffer.concat(heads), end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(heads.length / 2, 8);
  end.writeUInt16LE(heads.length / 2, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
};

const xml = (s) => String(s).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const list = (all, one) => Object.entries(all).map(one).join('');

// xlsx is a workbook of sheets by their names, each an array of rows.
export const xlsx = (sheets) => zip({
  '[Content_Types].xml': '<Types/>',
  'xl/workbook.xml': `<workbook xmlns:r="r"><sheets>${list(sheets, ([name], i) => `<sheet name="${xml(name)}" sheetId="${i + 1}" r:id="r${i + 1}"/>`)}</sheets></workbook>`,
  'xl/_rels/workbook.xml.rels': `<Relationships>${list(sheets, (_, i) => `<Relationship Id="r${i + 1}" Type="worksheet" Target="worksheets/sheet${i + 1}.xml"/>`)}</Relationships>`,
  ...Object.fromEntries(Object.values(sheets).map((rows, i) => [`xl/worksheets/sheet${i + 1}.xml`,
    `<worksheet><sheetData>${rows.map((r) => `<row>${r.map((c) => (typeof c === 'number' ? `<c><v>${c}</v></c>`
      : `<c t="inlineStr"><is><t>${xml(c)}</t></is></c>`)).join('')}</row>`).join('')}</sheetData></worksheet>`])),
});

// docx is a text of paragraphs.
export const docx = (...paragraphs) => zip({
  '[Content_Types].xml': '<Types/>',
  'word/document.xml': `<w:document xmlns:w="w"><w:body>${paragraphs.map((p) => `<w:p><w:r><w:t>${xml(p)}</w:t></w:r></w:p>`).join('')}</w:body></w:document>`,
});
