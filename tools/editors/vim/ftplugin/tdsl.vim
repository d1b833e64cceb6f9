" TDSL: comments, two spaces, `tdslc fmt` for = and `tdslc check` for :make.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1
setlocal commentstring=//\ %s comments=s1:/*,mb:*,ex:*/,://
setlocal expandtab shiftwidth=2 softtabstop=2 textwidth=120
setlocal makeprg=tdslc\ check\ % errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%f:%l:%c:\ %m
setlocal equalprg=tdslc\ fmt\ -
let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< textwidth< makeprg< errorformat< equalprg<"
