import { CONSOLE_PATH } from '../../people/console-path.ts';
import type { DemoAccount } from './demo-account.ts';

export function renderDemoBanner(url: string, { key, userName, password }: DemoAccount, adminToken: string): string {
  const authorization = `-H "Authorization: Bearer ${key}"`;
  const json = `-H "Content-Type: application/json"`;
  return `
Faregate demo: a simulated provider, a local database, an account with a balance and a Coding Plan.

  chat-style base URL      ${url}/v1
  messages-style base URL  ${url}
  on the Coding Plan       ${url}/v1/coding and ${url}/altproto
  API key                  ${key}

  console                  ${url}${CONSOLE_PATH}
  user and password        ${userName}   ${password ?? '(the one that you have set)'}
  admin token              ${adminToken}

Stream a chat completion:
  curl -N ${url}/v1/chat/completions ${authorization} ${json} \\
    -d '{"model":"demo-chat","stream":true,"messages":[{"role":"user","content":"Hello!"}]}'

Stream a message:
  curl -N ${url}/v1/messages -H "x-api-key: ${key}" ${json} \\
    -d '{"model":"demo-messages","max_tokens":256,"stream":true,"messages":[{"role":"user","content":"Hello!"}]}'

See the balance:
  curl ${url}/v1/user/balance ${authorization}

In another terminal: npx faregate account show demo, npx faregate calls. Ctrl-C stops; data and key stay.

`;
}
