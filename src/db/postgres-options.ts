import type pg from 'pg';

/** Configuration with options. Their format is that of a server's command line: `-c name=value`. */
export type OptionedConfig = pg.ClientConfig & { readonly options: string };

export function withOptions(connection: OptionedConfig, options: readonly string[]): OptionedConfig {
  return { ...connection, options: [connection.options, ...options].join(' ').trim() };
}

/** Separates the options from a URL, where they would replace the gateway's own options, such as the search_path of a partition. */
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
