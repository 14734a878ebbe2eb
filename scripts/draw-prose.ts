import { globSync, readFileSync } from 'node:fs';
import { parseSync } from 'vite';
import { seededRandom } from '../src/lib/seeded-random.ts';
import { readOptions } from './read-options.ts';
import { children, type Node } from './syntax-tree.ts';

/**
 * Draws random prose for a reader who does not know the project: comments and messages of `src`, and paragraphs of the documents. The seed
 * decides what is drawn, so that nobody chooses.
 *
 *   node scripts/draw-prose.ts --seed 20261129 [--comments 60] [--messages 40] [--paragraphs 30]
 */
const { seed, ...counts } = readOptions({ seed: 1, comments: 60, messages: 40, paragraphs: 30 });

const SQL =
  /^\s*\(?\s*(select|with|insert|update|delete|create|alter|lock|drop|set|copy|order by|and|where|from)\b|\b(is not null|coalesce|jsonb_)|::[a-z]+| as [a-z_]+$/i;

interface Drawn {
  readonly place: string;
  readonly text: string;
}

const comments: Drawn[] = [];
const messages: Drawn[] = [];
for (const file of globSync('src/**/*.ts').sort()) {
  if (file.endsWith('.test.ts')) continue;
  const text = readFileSync(file, 'utf8');
  const parsed = parseSync(file, text);
  const at = (start: number): string => `${file}:${text.slice(0, start).split('\n').length}`;
  for (const { value, start, end } of parsed.comments)
    comments.push({
      place: at(start),
      text: `${value.replace(/^\s*\*+ ?/gm, '').trim()}\n    ${codeBehind(text, end)}`,
    });
  collectMessages(parsed.program as unknown as Node, (start, message) => {
    messages.push({ place: at(start), text: message });
  });
}
const paragraphs: Drawn[] = globSync(['*.md', 'docs/*.md']).sort().flatMap(paragraphsOf);

const random = seededRandom(seed);
show('comments', draw(comments, counts.comments));
show('messages', draw(messages, counts.messages));
show('paragraphs', draw(paragraphs, counts.paragraphs));

/** The first line of code after a comment. */
function codeBehind(text: string, end: number): string {
  return (/^\s*(\S[^\n]*)/.exec(text.slice(end))?.[1] ?? '').slice(0, 120);
}

/** A text that is built from several pieces is one message. */
function collectMessages(node: Node, found: (start: number, message: string) => void): void {
  const message = textOf(node);
  if (message !== null && isSentence(message)) found(node.start, message);
  for (const child of message === null ? children(node) : insertedInto(node)) collectMessages(child, found);
}

/** A string literal, template or concatenation, with `…` for inserted values; null for other nodes. */
function textOf(node: Node): string | null {
  if (node.type === 'Literal' && typeof node.value === 'string') return node.value;
  if (node.type === 'TemplateLiteral') {
    const quasis = node.quasis as readonly { readonly value: { readonly cooked: string } }[];
    return quasis.map(({ value }) => value.cooked).join('…');
  }
  if (node.type !== 'BinaryExpression' || node.operator !== '+') return null;
  const [left, right] = [textOf(node.left as Node), textOf(node.right as Node)];
  return left === null && right === null ? null : `${left ?? '…'}${right ?? '…'}`;
}

/** The expressions whose values a text contains. */
function insertedInto(text: Node): readonly Node[] {
  if (text.type === 'TemplateLiteral') return text.expressions as Node[];
  if (text.type === 'Literal') return [];
  return [text.left as Node, text.right as Node].flatMap((side) =>
    textOf(side) === null ? [side] : insertedInto(side),
  );
}

/** At least three words that are no SQL. */
function isSentence(text: string): boolean {
  return /[a-z]+ [a-z]+ \S/.test(text) && !SQL.test(text);
}

/** Paragraphs of text: no headings, tables, lists of links, or code. */
function paragraphsOf(file: string): Drawn[] {
  if (file === 'CHANGELOG.md') return [];
  const text = readFileSync(file, 'utf8').replace(/^```[\s\S]*?^```/gm, (fence) =>
    '\n'.repeat(fence.split('\n').length - 1),
  );
  const found: Drawn[] = [];
  let line = 1;
  for (const block of text.split('\n\n')) {
    const paragraph = block.trim();
    if (/^[A-Za-z*`[]/.test(paragraph) && paragraph.split(/\s+/).length >= 8)
      found.push({ place: `${file}:${line}`, text: paragraph });
    line += block.split('\n').length + 1;
  }
  return found;
}

function draw(from: readonly Drawn[], count: number): Drawn[] {
  const left = [...from];
  return Array.from(
    { length: Math.min(count, left.length) },
    () => left.splice(Math.floor(random() * left.length), 1)[0]!,
  );
}

function show(title: string, drawn: readonly Drawn[]): void {
  console.log(`\n# ${drawn.length} ${title}\n`);
  for (const [index, { place, text }] of drawn.entries())
    console.log(`${index + 1}. ${place}\n    ${text.replace(/\n/g, '\n    ')}\n`);
}
