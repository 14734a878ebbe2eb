import type pg from 'pg';

/** Options of a connection, as those of a server's command line: `-c name=value`. */
export type OptionedConfig = pg.ClientConfig & { readonly options: string };

/** A connection with further options, which count where it has others of the same name. */
export function withOptions(connection: OptionedConfig, options: readonly string[]): OptionedConfig {
  return { ...connection, options: [connection.options, ...options].join(' ').trim() };
}

/**
 * An address without the options that it gives, and these. The driver would take them in place of ours: connections of a partition would
 * be in the schema of the directory.
 */
export function splitOptions(url: string): { readonly connectionString: string; readonly given: readonly string[] } {
  const [address, query] = splitAt(url, '?');
  const parameters = new URLSearchParams(query);
  const given = parameters.getAll('options').filter((options) => options !== '');
  if (!parameters.has('options')) return { connectionString: url, given };
  parameters.delete('options');
  return { connectionString: parameters.size === 0 ? address : `${address}?${parameters}`, given };
}

function splitAt(text: string, mark: string): readonly [string, string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
