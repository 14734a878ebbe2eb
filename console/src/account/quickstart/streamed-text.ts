/** The text of an answer that is streamed, as it comes, whichever protocol it has. Other parts of the answer are left out. */
export async function* streamedText(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  for await (const data of eventData(body)) {
    if (data === '[DONE]') return;
    const event = JSON.parse(data) as StreamedEvent;
    if (event.error !== undefined) throw new Error(event.error.message ?? 'The answer ended with an error.');
    const text =
      event.choices?.[0]?.delta?.content ?? (event.delta?.type === 'text_delta' ? event.delta.text : undefined);
    if (text) yield text;
  }
}

/** What both protocols stream, as far as it is shown. */
interface StreamedEvent {
  readonly error?: { readonly message?: string };
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
  readonly delta?: { readonly type?: string; readonly text?: string };
}

/** The data of server-sent events (https://html.spec.whatwg.org, "Server-sent events"), however the bytes are cut. */
export async function* eventData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line.startsWith('data:')) data.push(line.slice(5).replace(/^ /, ''));
        else if (line === '' && data.length > 0) {
          yield data.join('\n');
          data = [];
        }
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
