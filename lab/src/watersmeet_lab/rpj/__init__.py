"""The experiments of Tao et al. 2005: joins in bounded memory that have many results early."""
