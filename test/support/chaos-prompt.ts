/**
 * The prompt of a call in a chaos run. It contains the number of the call and the tokens that the provider is to report, so that the
 * client knows the charge in advance and no two calls cost the same.
 */
export interface Prompt {
  readonly number: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export function writePrompt({ number, inputTokens, outputTokens }: Prompt): string {
  return `Call ${number} reads ${inputTokens} and writes ${outputTokens}. ${'So on and so forth. '.repeat(1 + (number % 17))}`;
}

export function readPrompt(text: string): Prompt {
  const found = /^Call (\d+) reads (\d+) and writes (\d+)\./.exec(text);
  if (found === null) throw new Error(`no prompt of the chaos run: ${text}`);
  const [number, inputTokens, outputTokens] = found.slice(1).map(Number);
  return { number: number!, inputTokens: inputTokens!, outputTokens: outputTokens! };
}
