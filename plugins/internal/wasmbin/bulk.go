package wasmbin

// table reads the number of a table and gives the type of its elements.
func (v *validator) table() (byte, bool) {
	index := v.r.u32()
	if v.r.err == nil && uint64(index) >= uint64(len(v.m.tableTypes)) {
		v.fail("table %d of %d", index, len(v.m.tableTypes))
	}
	if v.r.err != nil {
		return unknown, false
	}
	return v.m.tableTypes[index], true
}

// elements reads the number of an element segment and gives the type of its elements.
func (v *validator) elements() (byte, bool) {
	index := v.r.u32()
	if v.r.err == nil && uint64(index) >= uint64(len(v.m.elements)) {
		v.fail("element segment %d of %d", index, len(v.m.elements))
	}
	if v.r.err != nil {
		return unknown, false
	}
	return v.m.elements[index], true
}

// data reads the number of a data segment. The segments come behind the code, so their number must have
// been announced.
func (v *validator) data() {
	index := v.r.u32()
	switch {
	case v.r.err != nil:
	case !v.m.hasDataCount:
		v.fail("instruction %s needs a data count section", v.name())
	case index >= v.m.dataCount:
		v.fail("data segment %d of %d", index, v.m.dataCount)
	}
}

func (v *validator) tableAccess() {
	t, ok := v.table()
	if !ok {
		return
	}
	if v.op == opTableGet {
		v.pop(i32)
		v.push(t)
		return
	}
	v.m.mutatesTables = true
	v.pop(t)
	v.pop(i32)
}

// misc checks the instructions behind prefix 0xfc.
func (v *validator) misc() {
	v.sub = v.r.u32()
	if v.sub < uint32(len(v.ops.misc)) {
		v.apply(&v.ops.misc[v.sub])
		return
	}
	switch v.sub {
	case 8: // memory.init
		v.data()
		v.memory()
		v.pop3(i32)
	case 9: // data.drop
		v.m.mutatesTables = true
		v.data()
	case 10: // memory.copy
		v.memory()
		v.memory()
		v.pop3(i32)
	case 11: // memory.fill
		v.memory()
		v.pop3(i32)
	case 12, 14: // table.init, table.copy
		v.tableMove()
	case 13: // elem.drop
		v.m.mutatesTables = true
		v.elements()
	case 15, 16, 17: // table.grow, table.size, table.fill
		v.tableSize()
	default:
		v.fail("instruction 0xfc %d is not supported", v.sub)
	}
}

// pop3 takes the three operands of a bulk instruction, of which the middle one varies.
func (v *validator) pop3(middle byte) {
	v.pop(i32)
	v.pop(middle)
	v.pop(i32)
}

func (v *validator) tableMove() {
	v.m.mutatesTables = true
	var into, from byte
	var intoThere, fromThere bool
	if v.sub == 12 {
		from, fromThere = v.elements()
		into, intoThere = v.table()
	} else {
		into, intoThere = v.table()
		from, fromThere = v.table()
	}
	if intoThere && fromThere && into != from {
		v.fail("instruction %s puts %s into a table of %s", v.name(), typeName(from), typeName(into))
		return
	}
	v.pop3(i32)
}

func (v *validator) tableSize() {
	t, ok := v.table()
	if !ok {
		return
	}
	if v.sub == 17 {
		v.m.mutatesTables = true
		v.pop3(t)
		return
	}
	if v.sub == 15 {
		v.m.mutatesTables, v.m.growsTables = true, true
		v.pop(i32)
		v.pop(t)
	}
	v.push(i32)
}
