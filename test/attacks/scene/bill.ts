/** What the provider did for one request, as it keeps it for its own bill. */
export interface BilledCall {
  /** Who caused it: `attack/caller`. */
  readonly tag: string;
  readonly script: string;
  readonly path: string;
  readonly model: string;
  readonly bodyBytes: number;
  /**
   * `running`, then `reported`: the whole response with its usage was sent; `cancelled`: the gateway went before that; or
   * `refused`: the provider responded with an error, which is free.
   */
  readonly state: 'running' | 'reported' | 'cancelled' | 'refused';
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly images: number;
  readonly searchUnits: number;
  /** What the provider wants for it, in nano-yuan. */
  readonly nano: string;
}

/** How a request says what the provider shall do with it, in a field that every API passes on, such as `user`. */
export function scriptMark(script: string, tag: string): string {
  return `script:${script}/${tag}/`;
}

const MARK = /script:([a-z0-9:-]+)\/([a-z0-9.-]+)\//;

export function readMark(body: Buffer): { script: string; number: number; tag: string } {
  const at = body.indexOf('script:');
  const [, script = 'plain', tag = ''] = MARK.exec(at === -1 ? '' : body.toString('latin1', at, at + 200)) ?? [];
  const [name = '', number = '0'] = script.split(':');
  return { script: name, number: Number(number), tag };
}
