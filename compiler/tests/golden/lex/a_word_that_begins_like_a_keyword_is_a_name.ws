rules when_ then1 android order nothing in_ inside not_ing regexp truest _true
