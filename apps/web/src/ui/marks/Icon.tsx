const PATHS = {
  menu: 'M3 5h14M3 10h14M3 15h14',
  panel: 'M3 4h14v12H3zM12 4v12',
  close: 'm5 5 10 10M15 5 5 15',
  plus: 'M10 4v12M4 10h12',
  chevron: 'm8 5 5 5-5 5',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  check: 'm4 10 4 4 8-8',
  retry: 'M15.5 8A6 6 0 1 0 16 12M16 4v4h-4',
  fork: 'M6 4v12M14 4v3a4 4 0 0 1-4 4H6',
  up: 'm5 12 5-5 5 5',
  down: 'm5 8 5 5 5-5',
  end: 'm5 6 5 5 5-5M5 15h10',
  more: 'M5 10h.01M10 10h.01M15 10h.01',
  search: 'M9 14A5 5 0 1 0 9 4a5 5 0 0 0 0 10Zm4-1 4 4',
  file: 'M5 3h7l3 3v11H5zM12 3v3h3',
  folder: 'M3 5h5l2 2h7v9H3z',
  attach: 'm14 9-5 5a3 3 0 0 1-4-4l6-6a2 2 0 0 1 3 3l-6 6a1 1 0 0 1-1.5-1.5L12 6.5',
  diff: 'M10 4v7M6.5 7.5h7M6.5 15h7',
  play: 'M6 4v12l10-6z',
  pause: 'M7 4v12M13 4v12',
  comment: 'M4 4h12v9H9l-4 3v-3H4z',
  fleet: 'M3 4h6v5H3zM11 4h6v5h-6zM3 11h6v5H3zM11 11h6v5h-6z',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2.6 : 1.6}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}
