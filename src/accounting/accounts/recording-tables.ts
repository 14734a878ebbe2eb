import { booleanColumn, selection } from '../../db/table.ts';

/** What an account records of its callers, as columns of `accounts`. */
export const RECORDING = selection({
  clientAddress: booleanColumn('records_client_address'),
  program: booleanColumn('records_program'),
  endUser: booleanColumn('records_end_user'),
});
