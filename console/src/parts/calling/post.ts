export const SYSTEMS = ['unix', 'powershell', 'cmd'] as const;
export type System = (typeof SYSTEMS)[number];

interface Post {
  readonly url: string;
  /** The header in addition to `Content-Type`. */
  readonly header: readonly [name: string, value: string];
  readonly body: object;
}

/** Commands that post JSON and print the response. */
export const POST: Readonly<Record<System, (post: Post) => string>> = {
  unix: ({ url, header: [name, value], body }) => `curl -N ${url} \\
  -H "${name}: ${value}" -H "Content-Type: application/json" \\
  -d ${inShell(JSON.stringify(body))}`,
  // Windows PowerShell strips quotation marks from arguments of programs, so its own cmdlet is used.
  powershell: ({ url, header: [name, value], body }) => `Invoke-WebRequest -UseBasicParsing -Method Post -Uri ${url} \`
  -Headers @{ ${inPowerShell(name)} = ${inPowerShell(value)} } -ContentType 'application/json' \`
  -Body ${inPowerShell(JSON.stringify(body))} | ForEach-Object Content`,
  cmd: ({ url, header: [name, value], body }) => `curl -N ${url} ^
  -H "${name}: ${value}" -H "Content-Type: application/json" ^
  -d "${JSON.stringify(body).replaceAll('"', '\\"')}"`,
};

function inShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function inPowerShell(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
