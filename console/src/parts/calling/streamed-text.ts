/** The stream ended before the protocol's end, for example because the connection was lost. */
export class EndedEarly extends Error {}

/** Yields the text of a streamed response in either protocol, and skips everything else. @throws EndedEarly */
export async function* streamedText(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let isFinished = false;
  for await (const data of eventData(body)) {
    if (data === '[DONE]') return;
    const event = JSON.parse(data) as StreamedEvent;
    if (event.error !== undefined) throw new Error(event.error.message ?? 'The response ended with an error.');
    if (event.type === 'message_stop') return;
    // Some providers end the stream without `[DONE]`.
    if (event.choices?.[0]?.finish_reason) isFinished = true;
    const text =
      event.choices?.[0]?.delta?.content ?? (event.delta?.type === 'text_delta' ? event.delta.text : undefined);
    if (text) yield text;
  }
  if (!isFinished) throw new EndedEarly('The response ended early.');
}

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
 * Yields the data of server-sent events (https://html.spec.whatwg.org, "Server-sent events"). Chunks may be cut anywhere. As in the
 * gateway, the last event needs no empty line if its data is complete.
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
