/** A response whose stream ended before its protocol says that it is complete, as when a connection is cut. */
export class EndedEarly extends Error {}

/**
 * The text of a response that is streamed, as it comes, whichever protocol it has. Other parts of the response are left out.
 *
 * @throws EndedEarly
 */
export async function* streamedText(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let isFinished = false;
  for await (const data of eventData(body)) {
    if (data === '[DONE]') return;
    const event = JSON.parse(data) as StreamedEvent;
    if (event.error !== undefined) throw new Error(event.error.message ?? 'The response ended with an error.');
    if (event.type === 'message_stop') return;
    // Some providers send nothing behind this, and end the stream.
    if (event.choices?.[0]?.finish_reason) isFinished = true;
    const text =
      event.choices?.[0]?.delta?.content ?? (event.delta?.type === 'text_delta' ? event.delta.text : undefined);
    if (text) yield text;
  }
  if (!isFinished) throw new EndedEarly('The response ended early.');
}

/** What both protocols stream, as far as it is shown. */
interface StreamedEvent {
  readonly type?: string;
  readonly error?: { readonly message?: string };
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null };
    readonly finish_reason?: string | null;
  }[];
  readonly delta?: { readonly type?: string; readonly text?: string };
}

/**
 * The data of server-sent events (https://html.spec.whatwg.org, "Server-sent events"), however the bytes are cut. The last event may
 * lack its empty line where its data are whole, as the gateway has it.
 *
 * @throws EndedEarly if the connection is lost.
 */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { value, done } = await read(reader);
      if (done) {
        const last = [...data, ...dataOf(rest.replace(/\r$/, ''))].join('\n');
        if (isWhole(last)) yield last;
        return;
      }
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        data.push(...dataOf(line));
        if (line === '' && data.length > 0) {
          yield data.join('\n');
          data = [];
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function dataOf(line: string): string[] {
  return line.startsWith('data:') ? [line.slice(5).replace(/^ /, '')] : [];
}

function isWhole(data: string): boolean {
  if (data === '[DONE]') return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>) {
  try {
    return await reader.read();
  } catch (error) {
    throw new EndedEarly('The connection was lost.', { cause: error });
  }
}
