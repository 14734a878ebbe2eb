import { ForeseenError } from '../../lib/foreseen-error.ts';

/** The message says what is wrong with a price file, and quotes nothing else of it than names of vendors. */
export class PriceFileError extends ForeseenError {}

/** The vendor of an address is not known, so that its names in the price file are not. */
export class UnknownVendorError extends PriceFileError {}
