-- What an account pays of the list price, in basis points: 10000 is the list price.
alter table balances add column price_factor_basis_points int not null default 10000
  check (price_factor_basis_points between 0 and 100000);

-- That of the account when the call was admitted; null: the list price.
alter table calls add column price_factor_basis_points int;
