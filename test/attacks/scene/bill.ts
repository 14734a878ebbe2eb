/** The provider's own account of a request. */
export interface BilledCall {
  /** The caller that caused it: `attack/caller`. */
  readonly tag: string;
  readonly script: string;
  readonly path: string;
  readonly model: string;
  readonly bodyBytes: number;
  /**
   * `running`, then `reported`: the complete response with its usage was sent; `cancelled`: the gateway disconnected before that; or
   * `refused`: the provider responded with an error, which is free.
   */
  readonly state: 'running' | 'reported' | 'cancelled' | 'refused';
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  readonly images: number;
  readonly searchUnits: number;
  /** The provider's price, in nano-yuan. */
  readonly nano: string;
}

/** A request contains a script for the provider, in a member that every API passes on, such as `user`. */
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
