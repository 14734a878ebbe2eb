import { z } from 'zod';

/** Who issues and who receives the statements, receipts and invoices of an account. */

export const sellerResponse = z
  .strictObject({
    name: z.string(),
    taxNumber: z.string().nullable(),
    address: z.string().nullable(),
    logo: z.string().nullable().describe('An image as a data URL; null: none.'),
  })
  .meta({ id: 'Seller', description: 'Who issues statements and receipts, as configured in `billing.seller`.' });

export const buyerResponse = z
  .strictObject({
    companyName: z.string(),
    taxNumber: z.string().nullable(),
    address: z.string().nullable(),
    email: z.string().nullable(),
  })
  .meta({ id: 'Buyer', description: 'Who receives the statements, receipts and invoices of an account.' });
