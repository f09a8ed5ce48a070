// @vitest-environment happy-dom
import { expect, test } from 'vitest'
import { render } from '../../test/support/render.tsx'
import { Markdown } from './Markdown.tsx'

test('what agents write becomes elements', () => {
  const page = render(
    <Markdown
      text={
        '# Title\n\nSome **bold** `code` [link](https://example.org).\n\n- [x] done\n- open\n\n| a |\n|---|\n| 1 |'
      }
    />,
  )
  expect(page.querySelector('h3')?.textContent).toBe('Title')
  expect(page.querySelector('strong')?.textContent).toBe('bold')
  expect(page.querySelector('a')?.getAttribute('rel')).toBe('noopener noreferrer')
  expect(page.querySelector('input')?.checked).toBe(true)
  expect(page.querySelector('td')?.textContent).toBe('1')
})

test('HTML is the text that it is, and entities are characters', () => {
  const page = render(
    <Markdown text={'<b>bold</b> &lt;i&gt; &amp; &unknown;\n\n<script>alert(1)</script>'} />,
  )
  expect(page.querySelector('b, i, script')).toBeNull()
  expect(page.textContent).toContain('<b>bold</b> <i> & &unknown;')
  expect(page.textContent).toContain('<script>alert(1)</script>')
})

test('a picture from elsewhere is a link, and a dangerous link is text', () => {
  const page = render(<Markdown text={'![a cat](https://example.org/cat.png) [x](javascript:alert(1))'} />)
  expect(page.querySelector('img')).toBeNull()
  expect([...page.querySelectorAll('a')].map(link => link.textContent)).toEqual(['a cat'])
})

test('a table heeds how its columns are aligned', () => {
  const page = render(<Markdown text={'| a | b | c |\n|---|---:|:-:|\n| 1 | 2 | 3 |'} />)
  const classes = (cell: string) => [...page.querySelectorAll(cell)].map(({ className }) => className)
  const expected = ['', 'markdown__cell--right', 'markdown__cell--center']
  expect([classes('th'), classes('td')]).toEqual([expected, expected])
})
