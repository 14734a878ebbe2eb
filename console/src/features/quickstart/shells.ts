import type { Setting, System, Wanted } from './wanted.ts';

/** Commands and paths, as each system has them. */

/** A file below the home directory. */
export function homeFile(path: string, system: System): string {
  return system === 'unix' ? `~/${path}` : `%USERPROFILE%\\${path.replaceAll('/', '\\')}`;
}

const SET_VARIABLE: Readonly<Record<System, (name: string, value: string) => string>> = {
  unix: (name, value) => `export ${name}=${value}`,
  // `setx` is for terminals that are opened later.
  powershell: (name, value) => `$env:${name} = ${inPowerShell(value)}\nsetx ${name} $env:${name}`,
  cmd: (name, value) => `set "${name}=${value}"\nsetx ${name} "%${name}%"`,
};

/** Puts the key into the environment, from which a client reads it. */
export function keyInEnvironment(name: string, { key, system }: Wanted): Setting {
  return { file: null, code: SET_VARIABLE[system](name, key) };
}

interface Post {
  readonly url: string;
  /** The one header besides that of the content. */
  readonly header: readonly [name: string, value: string];
  readonly body: object;
}

/** Commands that post a body as JSON, and show the response. */
export const POST: Readonly<Record<System, (post: Post) => string>> = {
  unix: ({ url, header: [name, value], body }) => `curl -N ${url} \\
  -H "${name}: ${value}" -H "Content-Type: application/json" \\
  -d ${inShell(JSON.stringify(body))}`,
  // Windows PowerShell takes quotation marks away from what programs are given, so its own command calls.
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

function inPowerShell(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
