rule R {
  when metadata.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q == 1
  then review
}
