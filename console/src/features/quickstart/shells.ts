import { inPowerShell, type System } from '../../parts/calling/post.ts';
import type { Setting, Wanted } from './wanted.ts';

export function homeFile(path: string, system: System): string {
  return system === 'unix' ? `~/${path}` : `%USERPROFILE%\\${path.replaceAll('/', '\\')}`;
}

const SET_VARIABLE: Readonly<Record<System, (name: string, value: string) => string>> = {
  unix: (name, value) => `export ${name}=${value}`,
  // `setx` affects terminals opened later.
  powershell: (name, value) => `$env:${name} = ${inPowerShell(value)}\nsetx ${name} $env:${name}`,
  cmd: (name, value) => `set "${name}=${value}"\nsetx ${name} "%${name}%"`,
};

export function keyInEnvironment(name: string, { key, system }: Wanted): Setting {
  return { file: null, code: SET_VARIABLE[system](name, key) };
}
