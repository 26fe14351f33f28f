/* Products of int8 residues, tile by tile, each reduced by its modulus where it is made.
 *
 * A group of work items makes a tile of TILE_R rows and TILE_C columns of one result and one modulus; both operands run
 * along the inner dimension. With DIGITS residues are 256 * high + low, and the four products of digits are summed with
 * their weights. Depths are multiples of 128, so that words of four residues are never cut.
 */
