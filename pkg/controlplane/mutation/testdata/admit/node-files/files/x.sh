#!/bin/sh
echo ${NOT_CEL}
