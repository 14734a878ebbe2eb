-- Whether keys of members read the balance of the account; where not, they read what their own budgets leave.
alter table accounts add column members_see_balance boolean not null default true;
