CREATE FUNCTION holdfast_1_enter() AS 'SELECT 1';
