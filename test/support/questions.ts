import { createQuestions, type Questions } from '../../src/db/questions/database-questions.ts';
import { silentLogger } from '../../src/lib/logger.ts';

/** Without time limits, so that slow machines change nothing. */
export function patientQuestions(): Questions {
  return createQuestions({
    probe: () => Promise.reject(new Error('no probe is expected')),
    logger: silentLogger,
    questionMs: 3_600_000,
  });
}
