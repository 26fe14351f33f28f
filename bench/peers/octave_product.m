## Multiplies two point matrices with the interval package at each byte "p"; "s" saves the ends of the last result.
## Arguments: accuracy, folder of the operands, M, K, N. octave.py is the other end of the pipes. Requests are single
## bytes because fgetl does not return before the following line has begun.
pkg load interval
arguments = argv ();
accuracy = arguments{1};
folder = arguments{2};
sides = cellfun (@str2double, arguments(3:5));

function x = read_matrix (folder, name, rows, columns)
  file = fopen (fullfile (folder, name), "rb");
  x = infsup (fread (file, [rows, columns], "double"));
  fclose (file);
endfunction

function write_matrix (folder, name, x)
  file = fopen (fullfile (folder, name), "wb");
  fwrite (file, x, "double");
  fclose (file);
endfunction

a = read_matrix (folder, "a", sides(1), sides(2));
b = read_matrix (folder, "b", sides(2), sides(3));
printf ("ready\n");
fflush (stdout);
while (! isempty (request = fread (stdin, 1, "char=>char")))
  if (request == "p")
    c = mtimes (a, b, accuracy);
  else
    write_matrix (folder, "lo", inf (c));
    write_matrix (folder, "hi", sup (c));
  endif
  printf ("done\n");
  fflush (stdout);
endwhile
