import { pageTexts } from '../../parts/texts.ts';

/** Texts of statements, receipts, sellers and buyers. */
export const paperTexts = pageTexts(
  {
    seller: 'Seller',
    buyer: 'Buyer',
    taxNumber: 'Tax number',
    noBuyer: 'To show your company here, enter it in the account settings.',
    toSettings: 'Account settings',
    print: 'Print or save as PDF',
    receipt: 'Receipt',
    receiptOf: (number: string) => `Receipt ${number}`,
    receiptNumber: 'Number',
    paidAt: 'Date',
    reference: 'Payment reference',
    topUp: 'Top-up of the balance',
    toLedger: 'Ledger',
  },
  {
    seller: '销售方',
    buyer: '购买方',
    taxNumber: '税号',
    noBuyer: '在账户设置中填写公司信息后，将显示在此处。',
    toSettings: '账户设置',
    print: '打印或存为 PDF',
    receipt: '收据',
    receiptOf: (number: string) => `收据 ${number}`,
    receiptNumber: '编号',
    paidAt: '日期',
    reference: '付款参考号',
    topUp: '余额充值',
    toLedger: '账本',
  },
);
