/** Light or dark: as the system says, or as the reader does. */

import { type ComponentChild, h } from 'preact'
import { useEffect, useState } from 'preact/hooks'

const NEXT = { auto: 'light', light: 'dark', dark: 'auto' } as const

type Theme = keyof typeof NEXT

/** Goes from one look to the next. */
export function ThemeButton(): ComponentChild {
  const [theme, set] = useState<Theme>('auto')
  useEffect(() => {
    if (theme === 'auto') delete document.documentElement.dataset['theme']
    else document.documentElement.dataset['theme'] = theme
  }, [theme])
  return h('button', { type: 'button', onClick: () => set(NEXT[theme]) }, `Theme: ${theme}`)
}
