import type { Config } from '../../config/schema.ts';
import { checkMailServer } from '../../notices/mail-sender.ts';
import { mailTerms } from '../../notices/notice-terms.ts';
import { type Finding, failed, ok } from './doctor-finding.ts';

/** Says whether mail is configured. `isAsked`: also connects to the server and signs in, without sending a mail. */
export async function checkMail(config: Config, isAsked: boolean): Promise<Finding> {
  const terms = mailTerms(config);
  if (terms === null) return ok('mail', 'not configured: notices, invitations and links are not sent by mail');
  const server = `${terms.host}:${terms.port}`;
  if (!isAsked) return ok('mail', `sent by ${server}; to check the server, run: faregate doctor --mail`);
  const problem = await checkMailServer(terms);
  if (problem === null) {
    return ok('mail', `${server} accepts the connection${terms.user === null ? '' : ' and the sign-in'}`);
  }
  return failed(
    'mail',
    `${server}: ${problem}`,
    'Check the section `mail` of the configuration, and the network to the server.',
  );
}
