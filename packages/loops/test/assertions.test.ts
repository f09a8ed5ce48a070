import { expect, test } from 'vitest'
import { countAssertions, countFailingByDesign } from '../src/proof/runners/assertions.ts'

test.each([
  ['a.test.ts', 'expect(sum(1, 2)).toBe(3)'],
  ['a.test.ts', 'await expect(load()).resolves.toEqual({ a: 1 })'],
  ['a.test.ts', 'expect(() => parse("")).toThrow()'],
  ['a.test.ts', 'expect(true).not.toBe(isEmpty)'],
  ['a.test.js', 't.is(sum(1, 2), 3)'],
  ['a.test.js', 't.deepEqual(all(), [])'],
  ['a.test.js', 't.throws(() => parse(""))'],
  ['a.test.js', 't.fail()'],
  ['a.test.js', 'assert.equal(sum(1, 2), 3)'],
  ['a.test.js', 'assert(sum(1, 2) === 3)'],
  ['a.test.js', 'sum(1, 2).should.equal(3)'],
  ['test_a.py', 'assert add(1, 2) == 3'],
  ['test_a.py', 'assert add(1, 2) == 3, "adds"'],
  ['test_a.py', 'self.assertEqual(add(1, 2), 3)'],
  ['test_a.py', 'with pytest.raises(ValueError):'],
  ['a_test.go', 't.Errorf("got %d", got)'],
  ['a_test.go', 'require.Equal(t, 3, Add(1, 2))'],
  ['lib.rs', 'assert_eq!(add(1, 2), 3);'],
  ['lib.rs', 'assert!(add(1, 2) == 3, "adds");'],
  ['SumTest.java', 'assertEquals(3, Sum.add(1, 2));'],
])('%s: `%s` is an assertion', (file, line) => {
  expect(countAssertions(file, `${line}\n`)).toBe(1)
})

test.each([
  ['a.test.ts', 'expect(true).toBe(true)'],
  ['a.test.ts', 'expect(1).toEqual(1)'],
  ['a.test.ts', 'expect(sum(1, 2))'],
  ['a.test.ts', 'expect(x).toBe(x)'],
  ['a.test.ts', 'expect("a").toBeTruthy()'],
  ['a.test.ts', '// expect(sum(1, 2)).toBe(3)'],
  ['a.test.ts', '/* expect(sum(1, 2)).toBe(3) */'],
  ['a.test.js', 't.pass()'],
  ['a.test.js', 't.pass("fine")'],
  ['a.test.js', 't.is(1, 1)'],
  ['a.test.js', 't.true(true)'],
  ['a.test.js', 't.plan(1)'],
  ['a.test.js', 'assert(1)'],
  ['a.test.js', 'assert.ok(true, "fine")'],
  ['a.test.js', 'assert.equal(a, a)'],
  ['test_a.py', 'assert True'],
  ['test_a.py', 'assert 1 == 1'],
  ['test_a.py', 'self.assertTrue(True)'],
  ['test_a.py', '# assert add(1, 2) == 3'],
  ['test_a.py', 'pass'],
  ['lib.rs', 'assert!(true);'],
  ['lib.rs', 'assert_eq!(2, 2);'],
  ['SumTest.java', 'assertTrue(true);'],
])('%s: `%s` holds for any code, or is none', (file, line) => {
  expect(countAssertions(file, `${line}\n`)).toBe(0)
})

test('a language that is not known is not counted as zero', () => {
  expect(countAssertions('a.test.rb', 'assert true')).toBeNull()
  expect(countAssertions('README.md', 'expect(a).toBe(b)')).toBeNull()
})

test('tests that are expected to fail', () => {
  const text =
    "test.failing('a', () => {})\nit.fails('b', () => {})\n// test.failing('c')\ntest('fails', () => {})\n"
  expect(countFailingByDesign('a.test.js', text)).toBe(2)
})
