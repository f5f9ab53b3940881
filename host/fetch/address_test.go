package fetch

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClassify(t *testing.T) {
	for text, want := range map[string]class{
		"8.8.8.8":         {public, "public"},
		"1.1.1.1":         {public, "public"},
		"172.15.255.255":  {public, "public"},
		"172.32.0.0":      {public, "public"},
		"100.63.255.255":  {public, "public"},
		"100.128.0.0":     {public, "public"},
		"192.167.255.255": {public, "public"},
		"223.255.255.255": {public, "public"},

		"10.0.0.0":        {inside, "private"},
		"10.255.255.255":  {inside, "private"},
		"172.16.0.0":      {inside, "private"},
		"172.31.255.255":  {inside, "private"},
		"192.168.0.1":     {inside, "private"},
		"127.0.0.1":       {inside, "loopback"},
		"127.255.255.254": {inside, "loopback"},
		"100.64.0.0":      {inside, "shared, carrier-grade NAT"},
		"100.127.255.255": {inside, "shared, carrier-grade NAT"},

		"169.254.0.1":     {literal, "link-local"},
		"169.254.169.254": {literal, "link-local, cloud metadata"},
		"100.100.100.200": {literal, "cloud metadata"},
		"168.63.129.16":   {literal, "cloud metadata"},
		"192.0.0.8":       {literal, "reserved for protocols"},
		"192.0.0.192":     {literal, "reserved for protocols"},
		"192.0.2.1":       {literal, "documentation"},
		"198.51.100.1":    {literal, "documentation"},
		"203.0.113.255":   {literal, "documentation"},
		"192.88.99.1":     {literal, "6to4 relay"},
		"198.18.0.1":      {literal, "benchmarking"},
		"198.19.255.255":  {literal, "benchmarking"},
		"240.0.0.1":       {literal, "reserved"},
		"0.0.0.0":         {never, "unspecified"},
		"0.1.2.3":         {never, "unspecified"},
		"224.0.0.1":       {never, "multicast"},
		"239.255.255.255": {never, "multicast"},
		"255.255.255.255": {never, "broadcast"},

		"2606:4700::1111":      {public, "public"},
		"2a00:1450:4001::1":    {public, "public"},
		"2001:200::1":          {public, "public"},
		"::1":                  {inside, "loopback"},
		"fc00::1":              {inside, "private"},
		"fdff::1":              {inside, "private"},
		"fd00:ec2::254":        {literal, "cloud metadata"},
		"fd20:ce::254":         {literal, "cloud metadata"},
		"fe80::1":              {literal, "link-local"},
		"febf::1":              {literal, "link-local"},
		"fec0::1":              {literal, "site-local"},
		"2001:db8::1":          {literal, "documentation"},
		"3fff::1":              {literal, "documentation"},
		"2001:2::1":            {literal, "benchmarking"},
		"2001:10::1":           {literal, "reserved for protocols"},
		"2001:20::1":           {literal, "reserved for protocols"},
		"100::1":               {literal, "reserved"},
		"4000::1":              {literal, "reserved"},
		"::":                   {never, "unspecified"},
		"ff02::1":              {never, "multicast"},
		"fe80::1%eth0":         {never, "of a zone of this machine"},
		"2606:4700::1111%eth0": {never, "of a zone of this machine"},

		// The forms that hold an IPv4 address.
		"::ffff:8.8.8.8":             {public, "public"},
		"::ffff:127.0.0.1":           {inside, "loopback"},
		"::ffff:10.0.0.1":            {inside, "private"},
		"::ffff:169.254.169.254":     {literal, "link-local, cloud metadata"},
		"::ffff:0.0.0.0":             {never, "unspecified"},
		"::127.0.0.1":                {literal, "IPv4-compatible"},
		"::8.8.8.8":                  {literal, "IPv4-compatible"},
		"::ffff:0:127.0.0.1":         {literal, "reserved"}, // IPv4-translated
		"64:ff9b::8.8.8.8":           {public, "public"},
		"64:ff9b::127.0.0.1":         {literal, "NAT64 of an address that is loopback"},
		"64:ff9b::10.0.0.1":          {literal, "NAT64 of an address that is private"},
		"64:ff9b::169.254.169.254":   {literal, "NAT64 of an address that is link-local, cloud metadata"},
		"64:ff9b::0.0.0.0":           {never, "NAT64 of an address that is unspecified"},
		"64:ff9b:1::10.0.0.1":        {literal, "local NAT64"},
		"2002:7f00:1::1":             {literal, "6to4"},
		"2002:a9fe:a9fe::1":          {literal, "6to4"},
		"2001:0:4136:e378::80ff:fe0": {literal, "Teredo"},
	} {
		assert.Equal(t, want, classify(netip.MustParseAddr(text)), text)
	}
	assert.Equal(t, never, classify(netip.Addr{}).reach)
}
