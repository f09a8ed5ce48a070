import { expect, test } from 'vitest'
import { parseLayout } from './layout.ts'

const normal = { sidebar: 'open', sidebarWidth: 264, panel: 'open', panelWidth: 432 }

test.each([null, '', '{', 'null', '[]', '7', '{"sidebar":"gone","panelWidth":"wide"}'])(
  '%j gives the layout of a new browser',
  text => expect(parseLayout(text)).toEqual(normal),
)

test('a width out of bounds is brought back into them', () => {
  expect(parseLayout('{"sidebarWidth":9000,"panelWidth":-1,"panel":"closed","sidebar":"rail"}')).toEqual({
    sidebar: 'rail',
    sidebarWidth: 420,
    panel: 'closed',
    panelWidth: 320,
  })
})
