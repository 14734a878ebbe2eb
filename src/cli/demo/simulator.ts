import { LLMock } from '@copilotkit/aimock';

/**
 * Provider of the demo, in a process of its own: a simulator of the vendors' protocols by a third party. It sends its address to the parent
 * process, and exits with it.
 */
const simulator = new LLMock({ port: 0, host: '127.0.0.1', chunkSize: 12, latency: 15, journalMaxEntries: 1 });

/** An image: one transparent pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
// This precedes `onMessage`: the first match applies, and the pattern of `onMessage` matches image prompts, too.
simulator.onImage(/[\s\S]*/, { image: { b64Json: PNG } });
simulator.onRerank(/[\s\S]*/, [{ index: 0, relevance_score: 0.9 }]);

simulator.onMessage(/[\s\S]*/, (request) => {
  const said = lastUserText(request.messages);
  const content =
    `This is Faregate's demo provider. You said: "${said}". ` +
    'It runs no model, but the gateway treats it like a real provider: it checked your key, reserved money, relayed this ' +
    'response byte for byte, and charges exactly the tokens that this provider reports.';
  const inputTokens = countTokens(JSON.stringify(request.messages));
  const outputTokens = countTokens(content);
  return {
    content,
    // Token counts under the names of each protocol.
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      input_tokens: inputTokens,
      output_tokens: outputTokens,
    },
  };
});

/** Estimates tokens without a tokenizer: four characters each. */
function countTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

interface SimulatedMessage {
  readonly role: string;
  readonly content: string | readonly { readonly type: string; readonly text?: string }[] | null;
}

function lastUserText(messages: readonly SimulatedMessage[]): string {
  const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const text = typeof content === 'string' ? content : content.map((part) => part.text ?? '').join(' ');
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

process.on('disconnect', () => process.exit(0));
// Ignores SIGINT: Ctrl-C sends it to all processes of the group, but the parent still needs the provider to finish calls.
process.on('SIGINT', () => undefined);
await simulator.start();
process.send?.({ url: simulator.baseUrl });
