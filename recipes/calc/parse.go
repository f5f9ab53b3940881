package main

import (
	"errors"
	"fmt"
	"math/big"
)

// Bounds on the work that an expression can ask for. What they allow takes about a second at worst, in a sandbox.
const (
	maxLength = 4096   // bytes of an expression
	maxDepth  = 200    // parentheses, signs and powers within each other
	maxBits   = 16_384 // of a numerator or denominator, also of intermediate ones: about 4,900 digits
)

// parser evaluates while it reads:
//
//	sum     = product { ("+" | "-") product }
//	product = signed { ("*" | "/" | "%") signed }
//	signed  = ("+" | "-") signed | power
//	power   = primary [ "^" signed ]
//	primary = number | "(" sum ")"
//
// so a power binds more tightly than a sign before it, and to the right: -2^2 is -4, and 2^3^2 is 2^9.
type parser struct {
	scanner scanner
	token   token // the one that is read next
	depth   int
}

// evaluate gives the exact value of an expression.
func evaluate(expression string) (*big.Rat, error) {
	if len(expression) > maxLength {
		return nil, fmt.Errorf("the expression has %d bytes, and at most %d are taken", len(expression), maxLength)
	}
	p := parser{scanner: scanner{rest: expression, column: 1}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	if p.token.kind == end {
		return nil, errors.New("the expression is empty")
	}
	value, err := p.sum()
	if err != nil {
		return nil, err
	}
	switch p.token.kind {
	case end:
		return value, nil
	case ')':
		return nil, errorAt(p.token.column, "there is no opening parenthesis for this one")
	case '(', number:
		return nil, errorAt(p.token.column, "an operator is expected before %q; a product is written with *", p.token.text)
	default:
		return nil, errorAt(p.token.column, "an operator is expected, found %q", p.token.text)
	}
}

func (p *parser) advance() (err error) {
	p.token, err = p.scanner.next()
	return err
}

func (p *parser) sum() (*big.Rat, error) {
	left, err := p.product()
	for err == nil && (p.token.kind == '+' || p.token.kind == '-') {
		left, err = p.binary(left, p.product)
	}
	return left, err
}

func (p *parser) product() (*big.Rat, error) {
	left, err := p.signed()
	for err == nil && (p.token.kind == '*' || p.token.kind == '/' || p.token.kind == '%') {
		left, err = p.binary(left, p.signed)
	}
	return left, err
}

// binary reads an operator and its right side, and applies it.
func (p *parser) binary(left *big.Rat, side func() (*big.Rat, error)) (*big.Rat, error) {
	operator := p.token
	if err := p.advance(); err != nil {
		return nil, err
	}
	right, err := side()
	if err != nil {
		return nil, err
	}
	return apply(operator, left, right)
}

func (p *parser) signed() (*big.Rat, error) {
	if p.token.kind != '+' && p.token.kind != '-' {
		return p.power()
	}
	sign := p.token
	value, err := p.deeper(p.signed)
	if err == nil && sign.kind == '-' {
		value.Neg(value)
	}
	return value, err
}

func (p *parser) power() (*big.Rat, error) {
	base, err := p.primary()
	if err != nil || p.token.kind != '^' {
		return base, err
	}
	operator := p.token
	exponent, err := p.deeper(p.signed)
	if err != nil {
		return nil, err
	}
	return raise(operator, base, exponent)
}

func (p *parser) primary() (*big.Rat, error) {
	switch start := p.token; start.kind {
	case number:
		value, err := parseNumber(start)
		if err != nil {
			return nil, err
		}
		return value, p.advance()
	case '(':
		value, err := p.deeper(p.sum)
		if err != nil {
			return nil, err
		}
		if p.token.kind != ')' {
			return nil, errorAt(start.column, "this parenthesis is not closed")
		}
		return value, p.advance()
	case end:
		return nil, errorAt(start.column, "a number is expected, and the expression ends")
	default:
		return nil, errorAt(start.column, "a number is expected, found %q", start.text)
	}
}

// deeper reads past the current token and then what is nested behind it.
func (p *parser) deeper(nested func() (*big.Rat, error)) (*big.Rat, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, errorAt(p.token.column, "the expression is nested more than %d deep", maxDepth)
	}
	defer func() { p.depth-- }()
	if err := p.advance(); err != nil {
		return nil, err
	}
	return nested()
}
