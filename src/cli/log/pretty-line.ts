import { isRecord, parseJson } from '../../lib/json/json.ts';
import { escapeLines, escapeText } from '../../lib/plain-text.ts';

const LEVELS: Readonly<Record<number, string>> = { 20: 'DEBUG', 30: 'INFO ', 40: 'WARN ', 50: 'ERROR', 60: 'FATAL' };

/** Formats a log line for people: time, level, message and details; below them, the stack of an error. */
export function prettyLine(line: string): string {
  const parsed = parseJson(line);
  if (!isRecord(parsed)) return escapeLines(line);
  const { level, time, msg, err, ...details } = parsed;
  const error = isRecord(err) ? err : null;
  const words = [String(time).slice(11, 23), LEVELS[Number(level)] ?? String(level), escapeText(String(msg ?? ''))];
  for (const [name, value] of Object.entries(details)) words.push(`${name}=${valueText(value)}`);
  const stack = error === null ? '' : `\n${escapeLines(String(error.stack ?? error.message ?? ''))}`;
  return `${words.join(' ')}${stack}\n`;
}

/** Quotes a text, unless it is a single word. */
function valueText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return escapeText(/^[^\s"=]+$/.test(text) || typeof value !== 'string' ? text : JSON.stringify(text));
}
